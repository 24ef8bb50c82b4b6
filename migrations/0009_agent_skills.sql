ALTER TABLE `origins` ADD `agent_skills` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `origins` ADD `agent_skills_pointer` text;