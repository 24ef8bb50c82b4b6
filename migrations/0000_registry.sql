CREATE TABLE `audit_log` (
	`seq` integer PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`actor` text NOT NULL,
	`action` text NOT NULL,
	`subject` text NOT NULL,
	`detail` text DEFAULT '{}' NOT NULL,
	`request_id` text NOT NULL,
	`prev_hash` text NOT NULL,
	`hash` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `audit_log_prev` ON `audit_log` (`prev_hash`);--> statement-breakpoint
CREATE TABLE `client_origins` (
	`client_id` text NOT NULL,
	`origin_id` text NOT NULL,
	PRIMARY KEY(`client_id`, `origin_id`),
	FOREIGN KEY (`client_id`) REFERENCES `clients`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`origin_id`) REFERENCES `origins`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `client_origins_origin` ON `client_origins` (`origin_id`);--> statement-breakpoint
CREATE TABLE `client_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`client_id` text NOT NULL,
	`token_sha256` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`revoked_at` integer,
	FOREIGN KEY (`client_id`) REFERENCES `clients`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `client_tokens_sha256` ON `client_tokens` (`token_sha256`);--> statement-breakpoint
CREATE INDEX `client_tokens_client` ON `client_tokens` (`client_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `clients` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`status` text NOT NULL,
	`rpm` integer,
	`daily_quota` integer,
	`grant_all` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `clients_created` ON `clients` (`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `origins` (
	`id` text PRIMARY KEY NOT NULL,
	`origin` text NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`probed_at` integer,
	`last_called_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `origins_origin` ON `origins` (`origin`);--> statement-breakpoint
CREATE INDEX `origins_created` ON `origins` (`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `origins_called` ON `origins` (`status`,`last_called_at`);--> statement-breakpoint
CREATE TABLE `skills` (
	`origin_id` text NOT NULL,
	`scope` text NOT NULL,
	`name` text NOT NULL,
	`tool_sha256` text NOT NULL,
	`first_seen_at` integer NOT NULL,
	`last_seen_at` integer NOT NULL,
	`approved_at` integer,
	`approved_by` text,
	PRIMARY KEY(`origin_id`, `scope`, `name`, `tool_sha256`),
	FOREIGN KEY (`origin_id`) REFERENCES `origins`(`id`) ON UPDATE no action ON DELETE no action
);
