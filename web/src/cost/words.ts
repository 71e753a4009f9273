const purposes: Record<string, string> = {
  primary: 'Conversations',
  subagent: 'Sub-agents',
  builder: 'Building capabilities',
  compaction: 'Summaries of long conversations',
  compact_block: 'Shortening blocks',
  extraction: 'Learning from what was said',
  consolidation: 'Tidying up what is remembered',
  synthesis: 'Drawing conclusions from memories',
  deep_memory: 'Deep search in memory',
  summary: 'Summaries that were asked for',
}

/** What a call was for, in words; one that is not known here as it is written. */
export function purposeName(purpose: string): string {
  return purposes[purpose] ?? purpose
}
