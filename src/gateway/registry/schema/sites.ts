import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/** Where this gateway hosts the files of a publisher. */
export const sites = sqliteTable(
  "sites",
  {
    id: text("id").primaryKey(),
    /** Its address is `/s/<name>/` of the gateway, beside its own hosts. The site's id: it was deleted, and the cron removes its bytes. */
    name: text("name").notNull(),
    status: text("status", { enum: ["active", "suspended"] }).notNull(),
    /** What makes a caller one that is shown what is for authenticated callers: any `Authorization` header, or a client's token. */
    authenticatedMeans: text("authenticated_means", { enum: ["header", "verified"] }).notNull(),
    /** Manifests repeat `skills` as `entries`. */
    entriesAlias: integer("entries_alias", { mode: "boolean" }).notNull(),
    /** Whether manifests give the address of an artifact, or that of its very bytes. */
    artifactUrls: text("artifact_urls", { enum: ["plain", "pinned"] }).notNull(),
    /** How long the bytes of a version that was replaced stay readable by their digest, seconds. */
    graceS: integer("grace_s").notNull(),
    /** Null: nothing is published yet. Changing it is what publishes. */
    currentVersion: integer("current_version"),
    /** When it was changed last; two changes of one site are a second apart at least, as HTTP dates are. */
    switchedAt: integer("switched_at"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [uniqueIndex("sites_name").on(table.name), index("sites_created").on(table.createdAt, table.id)],
);

/** Hosts that belong to a site alone. */
export const siteHosts = sqliteTable(
  "site_hosts",
  {
    /** `host[:port]`, lower case, as the URL standard writes it. */
    host: text("host").primaryKey(),
    siteId: text("site_id")
      .notNull()
      .references(() => sites.id),
  },
  (table) => [index("site_hosts_site").on(table.siteId)],
);

/** What a site published, each time. A row never changes but for `retired_at`. */
export const siteVersions = sqliteTable(
  "site_versions",
  {
    siteId: text("site_id")
      .notNull()
      .references(() => sites.id),
    /** Counted from 1. */
    version: integer("version").notNull(),
    /** JSON: `SiteContent` of core/agent-skills, at most 1.5 million characters, since D1 caps a row. */
    content: text("content").notNull(),
    publishedAt: integer("published_at").notNull(),
    publishedBy: text("published_by").notNull(),
    note: text("note"),
    /** When another one took its place; null for the current one. */
    retiredAt: integer("retired_at"),
  },
  (table) => [primaryKey({ columns: [table.siteId, table.version] })],
);

/** Bytes of a site, which lie in R2 at `sites/<site id>/<sha256>`. */
export const siteBlobs = sqliteTable(
  "site_blobs",
  {
    siteId: text("site_id")
      .notNull()
      .references(() => sites.id),
    sha256: text("sha256").notNull(),
    bytes: integer("bytes").notNull(),
    /** When they were uploaded, or a publication named them; what no version names is removed a week later. */
    storedAt: integer("stored_at").notNull(),
    /** How often other bytes than these were found in their place; three are quarantine. Uploading them again sets it to 0. -1: on their way into the bucket. */
    mismatches: integer("mismatches").notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.siteId, table.sha256] }),
    index("site_blobs_mismatched").on(table.siteId, table.sha256).where(sql`${table.mismatches} > 0`),
    index("site_blobs_stored").on(table.storedAt),
  ],
);
