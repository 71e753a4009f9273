import type { ChildAnswer, FromChild, ToChild } from './child-messages.ts'

/**
 * The program of the child process: loads the model that it is told from the folder that it is told, then works. What comes
 * from outside (recordings) is read here, so that a file that is made to break its reader breaks nothing else.
 */

// A Ctrl-C reaches every process of the terminal. Whoever started this one ends it, or is gone: then the channel closes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', () => process.exit())

const [kind, folder = ''] = process.argv.slice(2)
const work = await load()
process.on('message', (asked: ToChild) => {
  void work(asked, () => send({ type: 'progress' }))
    .catch((cause): ChildAnswer => ({ type: 'failed', reason: `The voice model failed: ${messageOf(cause)}` }))
    .then(send)
})
send({ type: 'ready' })

async function load() {
  try {
    // Not at the top: a machine that the runtime does not know is to be told, too.
    if (kind === 'speech') return await (await import('./speech-work.ts')).loadSpeech(folder)
    return await (await import('./transcription-work.ts')).loadTranscription(folder)
  } catch (cause) {
    const message = messageOf(cause)
    await new Promise((sent) => process.send?.({ type: 'unusable', message } satisfies FromChild, sent))
    process.exit(1)
  }
}

function send(message: FromChild): void {
  process.send?.(message)
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
