/**
 * What no sub-agent has, whatever its parent has: it begins no work of its own, and does not turn to the user or to the
 * future by itself.
 */
export const deniedTools: ReadonlySet<string> = new Set(['sessions_spawn', 'tts', 'react', 'schedule_message'])
