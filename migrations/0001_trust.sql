CREATE TABLE `artifacts` (
	`sha256` text NOT NULL,
	`part` integer NOT NULL,
	`bytes` blob NOT NULL,
	PRIMARY KEY(`sha256`, `part`)
);
--> statement-breakpoint
CREATE TABLE `attestations` (
	`id` text PRIMARY KEY NOT NULL,
	`origin` text NOT NULL,
	`skill` text NOT NULL,
	`tool_sha256` text NOT NULL,
	`attester` text NOT NULL,
	`signed_on` text NOT NULL,
	`valid_until` text NOT NULL,
	`entry` text NOT NULL,
	`stored_at` integer NOT NULL,
	`stored_by` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `attestations_origin` ON `attestations` (`origin`,`stored_at`,`id`);--> statement-breakpoint
CREATE TABLE `reviewers` (
	`id` text PRIMARY KEY NOT NULL,
	`attester` text NOT NULL,
	`kind` text NOT NULL,
	`public_key` text,
	`issuer` text,
	`identity` text,
	`registered_at` integer NOT NULL,
	`retired_at` integer,
	`revoked_at` integer,
	`reason` text,
	`note` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `reviewers_active` ON `reviewers` (`attester`) WHERE "reviewers"."retired_at" IS NULL AND "reviewers"."revoked_at" IS NULL;--> statement-breakpoint
CREATE INDEX `reviewers_registered` ON `reviewers` (`registered_at`,`id`);--> statement-breakpoint
CREATE TABLE `revocations` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`reason` text NOT NULL,
	`revoked_at` integer NOT NULL,
	`revoked_by` text NOT NULL,
	`lifted_at` integer,
	`lifted_by` text,
	`lift_reason` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `revocations_in_force` ON `revocations` (`kind`,`subject`) WHERE "revocations"."lifted_at" IS NULL;--> statement-breakpoint
CREATE INDEX `revocations_revoked` ON `revocations` (`revoked_at`,`id`);--> statement-breakpoint
CREATE TABLE `trust_state` (
	`id` integer PRIMARY KEY NOT NULL,
	`version` integer NOT NULL,
	`trust_root` text,
	`trust_root_at` integer
);
--> statement-breakpoint
CREATE TABLE `verdicts` (
	`origin_id` text NOT NULL,
	`scope` text NOT NULL,
	`name` text NOT NULL,
	`tool_sha256` text NOT NULL,
	`verdict` text NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`origin_id`, `scope`, `name`, `tool_sha256`, `at`),
	FOREIGN KEY (`origin_id`) REFERENCES `origins`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
ALTER TABLE `origins` ADD `attestation_mode` text;--> statement-breakpoint
ALTER TABLE `origins` ADD `pin` text DEFAULT 'hold' NOT NULL;--> statement-breakpoint
ALTER TABLE `origins` ADD `forward_trace` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `origins` ADD `policy_version` integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE `skills` ADD `rejected_at` integer;--> statement-breakpoint
ALTER TABLE `skills` ADD `rejected_by` text;--> statement-breakpoint
ALTER TABLE `skills` ADD `note` text;--> statement-breakpoint
ALTER TABLE `skills` ADD `description` text;--> statement-breakpoint
ALTER TABLE `skills` ADD `version` text;--> statement-breakpoint
ALTER TABLE `skills` ADD `definition` text;--> statement-breakpoint
ALTER TABLE `skills` ADD `recipe_sha256` text;--> statement-breakpoint
ALTER TABLE `skills` ADD `bytes` integer;--> statement-breakpoint
CREATE INDEX `skills_tool` ON `skills` (`tool_sha256`);--> statement-breakpoint
CREATE INDEX `skills_recipe` ON `skills` (`recipe_sha256`);