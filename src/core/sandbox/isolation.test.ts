import { expect, it } from "vitest";
import { isolationSuite } from "./suites/isolation.ts";
import { WORKERD_ENGINES } from "./suites/workerd-engines.ts";

isolationSuite({ engines: WORKERD_ENGINES, thorough: true, it, expect });
