import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { GuardedFetch } from '../../egress/guarded-fetch.ts'
import type { Transcription } from '../transcriber.ts'
import { fetchProblem } from './fetch-problem.ts'

/** Services tell the kind of a recording by the name of its file. */
const endings: Readonly<Record<string, string>> = {
  'audio/ogg': 'ogg',
  'audio/opus': 'ogg',
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'audio/m4a': 'm4a',
  'audio/x-m4a': 'm4a',
  'audio/webm': 'webm',
  'audio/flac': 'flac',
}

/** `POST {base}/audio/transcriptions` as OpenAI has it, and with it most servers. */
export async function transcribeByService(
  service: { fetch: GuardedFetch; baseUrl: string; apiKey: string | null; model: string },
  { data, mediaType, signal }: { data: Uint8Array; mediaType: string; signal: AbortSignal },
): Promise<Transcription> {
  const { fetch, baseUrl, apiKey, model } = service
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const boundary = `familiar-${randomUUID()}`
  const { host } = new URL(baseUrl)
  try {
    const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/audio/transcriptions`, {
      method: 'POST',
      headers: {
        'content-type': `multipart/form-data; boundary=${boundary}`,
        accept: 'application/json',
        ...(apiKey && { authorization: `Bearer ${apiKey}` }),
      },
      body: formOf({ boundary, model, file: { name: `voice.${endings[type] ?? 'wav'}`, type: knownType(type), data } }),
      signal,
    })
    const text = await response.text()
    // Its own words are left out: they are a stranger's, and this is read by a model.
    if (!response.ok) return failed(`${host} did not write it down (${response.status}).`)
    const parsed = parseJson(text, answerSchema)
    if (!parsed.ok) return failed(`${host} sent no text.`)
    return { ok: true, text: parsed.value.text.trim(), by: model }
  } catch (error) {
    return failed(fetchProblem(error, { host, signal }).reason)
  }
}

function failed(reason: string): Transcription {
  return { ok: false, reason, fault: 'service' }
}

const answerSchema = z.object({ text: z.string() })

/** What stands in a header is ours, whatever the sender called it. */
function knownType(type: string): string {
  return type in endings ? type : 'application/octet-stream'
}

function formOf(form: {
  boundary: string
  model: string
  file: { name: string; type: string; data: Uint8Array }
}): Uint8Array<ArrayBuffer> {
  const { boundary, model, file } = form
  const field = (name: string, value: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const head =
    field('model', model) +
    field('response_format', 'json') +
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${file.name}"\r\n` +
    `content-type: ${file.type}\r\n\r\n`
  return Uint8Array.from(Buffer.concat([Buffer.from(head), file.data, Buffer.from(`\r\n--${boundary}--\r\n`)]))
}
