import type { ToolContext } from '../../src/tools/tool.ts'

/** What a tool is told of a call that nobody in particular makes. */
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
    ...given,
  }
}
