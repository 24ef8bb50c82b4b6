// Times are epoch milliseconds. Ids are `<prefix>_<random>`: org_, cli_, tok_, rev_, rvk_, opr_, opt_, ses_, sit_. Every table of the registry,
// by subject: drizzle-kit makes the migrations of what this file exports.

export * from "./schema/clients.ts";
export * from "./schema/operators.ts";
export * from "./schema/origins.ts";
export * from "./schema/sites.ts";
export * from "./schema/trust.ts";
export * from "./schema/usage.ts";
