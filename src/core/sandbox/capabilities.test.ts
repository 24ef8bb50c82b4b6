import { expect, it } from "vitest";
import { capabilitySuite } from "./suites/capabilities.ts";
import { WORKERD_ENGINES } from "./suites/workerd-engines.ts";

capabilitySuite({ engines: WORKERD_ENGINES, thorough: true, it, expect });
