import { expect, it } from "vitest";
import { loadEngines } from "../../dev/meter/engines.ts";
import { isolationSuite } from "./suites/isolation.ts";

isolationSuite({ engines: await loadEngines(), thorough: false, it, expect });
