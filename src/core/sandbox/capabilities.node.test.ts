import { expect, it } from "vitest";
import { loadEngines } from "../../dev/meter/engines.ts";
import { capabilitySuite } from "./suites/capabilities.ts";

capabilitySuite({ engines: await loadEngines(), thorough: false, it, expect });
