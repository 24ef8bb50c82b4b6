import { expect, it } from "vitest";
import { actionSuite } from "./suites/actions.ts";
import { WORKERD_ENGINES } from "./suites/workerd-engines.ts";

actionSuite({ engines: WORKERD_ENGINES, thorough: true, it, expect });
