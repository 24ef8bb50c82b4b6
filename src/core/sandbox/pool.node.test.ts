import { expect, it } from "vitest";
import { loadEngines } from "../../dev/meter/engines.ts";
import { poolSuite } from "./suites/pool.ts";

poolSuite({ engines: await loadEngines(), thorough: false, it, expect });
