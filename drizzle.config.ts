import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  schema: "./src/gateway/registry/schema.ts",
  out: "./migrations",
});
