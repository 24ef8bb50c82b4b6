import { expect, it } from "vitest";
import { loadEngines } from "../../dev/meter/engines.ts";
import { actionSuite } from "./suites/actions.ts";

actionSuite({ engines: await loadEngines(), thorough: false, it, expect });
