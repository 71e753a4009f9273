import type { FromEmbeddingProcess, ToEmbeddingProcess } from './local-embedder.ts'

/** The program of the child process: loads the model from the given folder, then answers text after text. */

// A Ctrl-C reaches every process of the terminal. The parent ends this one, or is gone: then the channel closes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', () => process.exit())

const model = await load(process.argv[2] ?? '')
process.on('message', ({ text }: ToEmbeddingProcess) => {
  void model.embed(text).then((vector) => send({ type: 'embedded', vector }))
})
send({ type: 'ready' })

async function load(folder: string) {
  try {
    // Not at the top, so that an unsupported machine is reported too.
    const { loadBgeModel } = await import('./bge-model.ts')
    return await loadBgeModel(folder)
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    await new Promise((sent) => process.send?.({ type: 'unusable', message } satisfies FromEmbeddingProcess, sent))
    process.exit(1)
  }
}

function send(message: FromEmbeddingProcess): void {
  process.send?.(message)
}
