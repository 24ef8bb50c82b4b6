CREATE TABLE `publications` (
	`origin_id` text PRIMARY KEY NOT NULL,
	`listed` text NOT NULL,
	`attestations` text NOT NULL,
	FOREIGN KEY (`origin_id`) REFERENCES `origins`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `published_memories` (
	`origin_id` text NOT NULL,
	`scope` text NOT NULL,
	`format` text NOT NULL,
	`sha256` text NOT NULL,
	PRIMARY KEY(`origin_id`, `scope`),
	FOREIGN KEY (`origin_id`) REFERENCES `origins`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `published_memories_sha256` ON `published_memories` (`sha256`);--> statement-breakpoint
ALTER TABLE `skills` ADD `changed` text;--> statement-breakpoint
ALTER TABLE `skills` ADD `changed_recipe_sha256` text;--> statement-breakpoint
CREATE INDEX `skills_changed_recipe` ON `skills` (`changed_recipe_sha256`);