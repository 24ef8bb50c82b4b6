CREATE TABLE `usage_flushes` (
	`id` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `usage_flushes_at` ON `usage_flushes` (`at`);--> statement-breakpoint
ALTER TABLE `client_tokens` ADD `created_by` text;--> statement-breakpoint
CREATE INDEX `client_tokens_inspection` ON `client_tokens` (`created_by`) WHERE "client_tokens"."kind" = 'inspection';--> statement-breakpoint
CREATE INDEX `attestations_stored` ON `attestations` (`stored_at`,`id`);--> statement-breakpoint
CREATE INDEX `attestations_origin_expiry` ON `attestations` (`origin`,`valid_until`,`id`);--> statement-breakpoint
CREATE INDEX `attestations_attester` ON `attestations` (`attester`,`stored_at`,`id`);--> statement-breakpoint
CREATE INDEX `attestations_attester_expiry` ON `attestations` (`attester`,`valid_until`,`id`);--> statement-breakpoint
CREATE INDEX `attestations_tool` ON `attestations` (`tool_sha256`,`stored_at`,`id`);--> statement-breakpoint
CREATE INDEX `attestations_tool_expiry` ON `attestations` (`tool_sha256`,`valid_until`,`id`);--> statement-breakpoint
CREATE INDEX `clients_status` ON `clients` (`status`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `operators_status` ON `operators` (`status`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `operators_role` ON `operators` (`role`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `origins_status` ON `origins` (`status`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `skills_seen` ON `skills` (`origin_id`,`last_seen_at`,`scope`,`name`,`tool_sha256`);--> statement-breakpoint
CREATE INDEX `skills_queue` ON `skills` (`first_seen_at`,`origin_id`,`scope`,`name`,`tool_sha256`);--> statement-breakpoint
CREATE INDEX `verdicts_at` ON `verdicts` (`origin_id`,`at`,`scope`,`name`,`tool_sha256`);