import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FakeTranscription {
  /** The `[voice.transcription]` settings that use it. */
  toml: string
  /** Every recording that came, as it came. */
  recordings: Uint8Array[]
  close(): Promise<void>
}

/** Writes down the same, whatever is said: `POST /v1/audio/transcriptions` as most servers have it. */
export async function startFakeTranscription(texts: readonly string[]): Promise<FakeTranscription> {
  const recordings: Uint8Array[] = []
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request))
    const start = body.indexOf('RIFF')
    const end = body.lastIndexOf('\r\n--')
    recordings.push(Uint8Array.from(body.subarray(start, end)))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ text: texts[Math.min(recordings.length, texts.length) - 1] ?? '' }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    toml: [
      '[voice.transcription]',
      'provider = "openai-compatible"',
      `base_url = "http://127.0.0.1:${port}/v1"`,
      'model = "whisper-of-the-test"',
      '',
    ].join('\n'),
    recordings,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
