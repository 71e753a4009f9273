import type { ToolContext } from '../../src/tools/tool.ts'

/** The context of a tool call without a particular user. */
export function toolContext(given: Partial<ToolContext> = {}): ToolContext {
  return {
    userId: 'max',
    sessionId: 'session',
    turnId: 'turn',
    callId: 'call',
    userText: '',
    answers: null,
    seen: { untrusted: false, private: false },
    signal: new AbortController().signal,
    progress: () => {},
    mayFollow: async () => true,
    ...given,
  }
}
