import { expect, it } from "vitest";
import { budgetSuite } from "./suites/budgets.ts";
import { WORKERD_ENGINES } from "./suites/workerd-engines.ts";

budgetSuite({ engines: WORKERD_ENGINES, thorough: true, it, expect });
