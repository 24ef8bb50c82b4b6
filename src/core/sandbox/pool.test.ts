import { expect, it } from "vitest";
import { poolSuite } from "./suites/pool.ts";
import { WORKERD_ENGINES } from "./suites/workerd-engines.ts";

poolSuite({ engines: WORKERD_ENGINES, thorough: true, it, expect });
