"""RuleMem: a memory for conversational agents that learns rules and shows its proof."""
