import { expect, it } from "vitest";
import { sigstoreSuite } from "./suite.ts";

sigstoreSuite({ it, expect });
