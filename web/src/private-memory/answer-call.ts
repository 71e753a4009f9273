import type { ToolResultsRequest } from '../../../src/protocol/client-tool-api.ts'
import { ApiError, ask } from '../api/ask.ts'
import { type CallOutcome, failed } from './carry-out.ts'
import { openPrivateStore } from './private-store.ts'
import { isSwitchedOn } from './switch-state.ts'
import type { WaitingCall } from './waiting-calls.ts'

type Answered = { kind: 'made'; outcome: CallOutcome } | { kind: 'made_before' } | { kind: 'not_ours' }

const longestPauseMs = 10_000

/**
 * Makes a call and tells what came of it, once, however many tabs see it: one at a time has it, and what it did is written
 * down with what it changed.
 */
export async function answerCall(
  call: WaitingCall,
  { sessionId, userName, signal }: { sessionId: string; userName: string; signal: AbortSignal },
): Promise<Answered> {
  const store = await openPrivateStore(userName)
  if (!(await store.wasSentHere(call.messageIds))) return { kind: 'not_ours' }
  const key = `${sessionId}/${call.callId}`
  const { outcome, isFirst } = isSwitchedOn(userName)
    ? await store.carryOut(key, call)
    : { outcome: failed('The user has switched the memory of their browser off. Nothing was done.'), isFirst: true }
  void oneAtATime(key, async () => {
    if (await store.wasTold(key)) return
    const isTold = await tell({ sessionId, callId: call.callId, outcome, signal })
    if (isTold) await store.noteTold(key)
  })
  return isFirst ? { kind: 'made', outcome } : { kind: 'made_before' }
}

async function oneAtATime(key: string, action: () => Promise<void>): Promise<void> {
  // Only a page over https or on this machine has locks; without one the daemon takes the first result.
  if (!navigator.locks) return action()
  await navigator.locks.request(`familiar.client-call.${key}`, action)
}

/**
 * The answer is the rest of the turn, which the events tell as well: whoever has seen the result among them lets go of it.
 * True once the daemon knows.
 */
async function tell(given: {
  sessionId: string
  callId: string
  outcome: CallOutcome
  signal: AbortSignal
}): Promise<boolean> {
  const { sessionId, callId, outcome, signal } = given
  const body: ToolResultsRequest = {
    results: [{ call_id: callId, result: outcome.text, is_error: outcome.isError, untrusted: false }],
  }
  for (let pauseMs = 500; !signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      await ask(`/sessions/${sessionId}/tool-results`, { body, signal })
      return true
    } catch (error) {
      // Answered already, or too late: the daemon has told the model. Only what it never heard is sent again.
      if (error instanceof ApiError && error.status > 0 && error.status < 500) return error.status !== 401
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return true
}
