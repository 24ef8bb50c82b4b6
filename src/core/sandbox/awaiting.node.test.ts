import { expect, it } from "vitest";
import { loadEngines } from "../../dev/meter/engines.ts";
import { awaitingSuite } from "./suites/awaiting.ts";

awaitingSuite({ engines: await loadEngines(), thorough: false, it, expect });
