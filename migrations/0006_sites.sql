CREATE TABLE `site_blobs` (
	`site_id` text NOT NULL,
	`sha256` text NOT NULL,
	`bytes` integer NOT NULL,
	`stored_at` integer NOT NULL,
	`mismatches` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`site_id`, `sha256`),
	FOREIGN KEY (`site_id`) REFERENCES `sites`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `site_blobs_mismatched` ON `site_blobs` (`site_id`,`sha256`) WHERE "site_blobs"."mismatches" > 0;--> statement-breakpoint
CREATE INDEX `site_blobs_stored` ON `site_blobs` (`stored_at`);--> statement-breakpoint
CREATE TABLE `site_hosts` (
	`host` text PRIMARY KEY NOT NULL,
	`site_id` text NOT NULL,
	FOREIGN KEY (`site_id`) REFERENCES `sites`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `site_hosts_site` ON `site_hosts` (`site_id`);--> statement-breakpoint
CREATE TABLE `site_versions` (
	`site_id` text NOT NULL,
	`version` integer NOT NULL,
	`content` text NOT NULL,
	`published_at` integer NOT NULL,
	`published_by` text NOT NULL,
	`note` text,
	`retired_at` integer,
	PRIMARY KEY(`site_id`, `version`),
	FOREIGN KEY (`site_id`) REFERENCES `sites`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `sites` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`status` text NOT NULL,
	`authenticated_means` text NOT NULL,
	`entries_alias` integer NOT NULL,
	`artifact_urls` text NOT NULL,
	`grace_s` integer NOT NULL,
	`current_version` integer,
	`switched_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `sites_name` ON `sites` (`name`);--> statement-breakpoint
CREATE INDEX `sites_created` ON `sites` (`created_at`,`id`);