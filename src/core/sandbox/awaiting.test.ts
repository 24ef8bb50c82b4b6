import { expect, it } from "vitest";
import { awaitingSuite } from "./suites/awaiting.ts";
import { WORKERD_ENGINES } from "./suites/workerd-engines.ts";

awaitingSuite({ engines: WORKERD_ENGINES, thorough: true, it, expect });
