CREATE TABLE `client_limits` (
	`client_id` text NOT NULL,
	`origin_id` text NOT NULL,
	`tool` text NOT NULL,
	`rpm` integer NOT NULL,
	PRIMARY KEY(`client_id`, `origin_id`, `tool`),
	FOREIGN KEY (`client_id`) REFERENCES `clients`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`origin_id`) REFERENCES `origins`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `client_tools` (
	`client_id` text NOT NULL,
	`origin_id` text NOT NULL,
	`effect` text NOT NULL,
	`tool` text NOT NULL,
	PRIMARY KEY(`client_id`, `origin_id`, `effect`, `tool`),
	FOREIGN KEY (`client_id`) REFERENCES `clients`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`origin_id`) REFERENCES `origins`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `console_state` (
	`id` integer PRIMARY KEY NOT NULL,
	`bootstrap_retired_at` integer,
	`bootstrap_retired_by` text
);
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`actor` text NOT NULL,
	`key` text NOT NULL,
	`request_sha256` text NOT NULL,
	`status` integer NOT NULL,
	`body` text,
	`subject` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`actor`, `key`)
);
--> statement-breakpoint
CREATE INDEX `idempotency_keys_created` ON `idempotency_keys` (`created_at`);--> statement-breakpoint
CREATE TABLE `operator_sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`operator_id` text,
	`token_id` text,
	`session_sha256` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`revoked_at` integer,
	FOREIGN KEY (`operator_id`) REFERENCES `operators`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`token_id`) REFERENCES `operator_tokens`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `operator_sessions_sha256` ON `operator_sessions` (`session_sha256`);--> statement-breakpoint
CREATE INDEX `operator_sessions_expiry` ON `operator_sessions` (`expires_at`);--> statement-breakpoint
CREATE TABLE `operator_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`operator_id` text NOT NULL,
	`token_sha256` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`revoked_at` integer,
	`last_used_at` integer,
	FOREIGN KEY (`operator_id`) REFERENCES `operators`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `operator_tokens_sha256` ON `operator_tokens` (`token_sha256`);--> statement-breakpoint
CREATE INDEX `operator_tokens_operator` ON `operator_tokens` (`operator_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `operators` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`role` text NOT NULL,
	`status` text NOT NULL,
	`access_email` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `operators_access_email` ON `operators` (`access_email`);--> statement-breakpoint
CREATE INDEX `operators_created` ON `operators` (`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `usage_errors` (
	`hour` integer NOT NULL,
	`client_id` text NOT NULL,
	`origin_id` text NOT NULL,
	`tool` text NOT NULL,
	`kind` text NOT NULL,
	`errors` integer NOT NULL,
	PRIMARY KEY(`hour`, `client_id`, `origin_id`, `tool`, `kind`)
);
--> statement-breakpoint
CREATE TABLE `usage_hourly` (
	`hour` integer NOT NULL,
	`client_id` text NOT NULL,
	`origin_id` text NOT NULL,
	`tool` text NOT NULL,
	`calls` integer NOT NULL,
	`gas` integer NOT NULL,
	`ms_1` integer NOT NULL,
	`ms_2` integer NOT NULL,
	`ms_5` integer NOT NULL,
	`ms_10` integer NOT NULL,
	`ms_20` integer NOT NULL,
	`ms_50` integer NOT NULL,
	`ms_100` integer NOT NULL,
	`ms_200` integer NOT NULL,
	`ms_500` integer NOT NULL,
	`ms_1000` integer NOT NULL,
	`ms_2000` integer NOT NULL,
	`ms_5000` integer NOT NULL,
	`ms_10000` integer NOT NULL,
	`ms_30000` integer NOT NULL,
	`ms_more` integer NOT NULL,
	PRIMARY KEY(`hour`, `client_id`, `origin_id`, `tool`)
);
--> statement-breakpoint
CREATE INDEX `usage_hourly_client` ON `usage_hourly` (`client_id`,`hour`);--> statement-breakpoint
CREATE INDEX `usage_hourly_origin` ON `usage_hourly` (`origin_id`,`hour`);--> statement-breakpoint
ALTER TABLE `client_tokens` ADD `last_used_at` integer;--> statement-breakpoint
ALTER TABLE `client_tokens` ADD `kind` text DEFAULT 'client' NOT NULL;--> statement-breakpoint
ALTER TABLE `client_tokens` ADD `label` text;--> statement-breakpoint
CREATE INDEX `attestations_expiry` ON `attestations` (`valid_until`,`id`);--> statement-breakpoint
CREATE INDEX `audit_log_actor` ON `audit_log` (`actor`);--> statement-breakpoint
CREATE INDEX `audit_log_action` ON `audit_log` (`action`);--> statement-breakpoint
CREATE INDEX `audit_log_subject` ON `audit_log` (`subject`);--> statement-breakpoint
CREATE INDEX `audit_log_at` ON `audit_log` (`at`);