import { expect, it } from "vitest";
import { loadEngines } from "../../dev/meter/engines.ts";
import { hostileSuite } from "./suites/hostile.ts";

hostileSuite({ engines: await loadEngines(), thorough: false, it, expect });
