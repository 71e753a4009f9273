import { reasonOf } from '../../base/text.ts'
import type { ChildAnswer, FromVoiceProcess, ToVoiceProcess } from './local-voice.ts'

/**
 * The program of the child process: loads the requested model, then works. Untrusted recordings are read here, so that
 * a malicious file can crash nothing else.
 */

// A Ctrl-C reaches every process of the terminal. The parent ends this one, or is gone: then the channel closes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', () => process.exit())

const [kind, folder = '', model = ''] = process.argv.slice(2)
const work = await load()
let isCanceled = false
process.on('message', (asked: ToVoiceProcess) => {
  isCanceled = asked.type === 'cancel'
  if (asked.type === 'cancel') return
  void work(asked, { onProgress: () => send({ type: 'progress' }), isCanceled: () => isCanceled })
    .catch((cause): ChildAnswer => ({ type: 'failed', reason: `The voice model failed: ${reasonOf(cause)}` }))
    .then(send)
})
send({ type: 'ready' })

async function load() {
  try {
    // Not at the top, so that an unsupported machine is reported too.
    if (kind === 'speech') return await (await import('./kokoro.ts')).loadSpeech(folder)
    return await (await import('./whisper.ts')).loadTranscription(folder, model)
  } catch (cause) {
    const message = reasonOf(cause)
    await new Promise((sent) => process.send?.({ type: 'unusable', message } satisfies FromVoiceProcess, sent))
    process.exit(1)
  }
}

function send(message: FromVoiceProcess): void {
  process.send?.(message)
}
