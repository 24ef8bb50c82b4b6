import { expect, it } from "vitest";
import { loadEngines } from "../../dev/meter/engines.ts";
import { budgetSuite } from "./suites/budgets.ts";

budgetSuite({ engines: await loadEngines(), thorough: false, it, expect });
