import { expect, it } from "vitest";
import { hostileSuite } from "./suites/hostile.ts";
import { WORKERD_ENGINES } from "./suites/workerd-engines.ts";

hostileSuite({ engines: WORKERD_ENGINES, thorough: true, it, expect });
