import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { parseAnyJson, parseJson } from '../../../src/base/json.ts'
import type { Json } from '../../../src/protocol/messages.ts'

export interface SentFile {
  name: string
  mediaType: string
  data: Buffer
}

const texts = new Set(['text', 'caption'])

export interface CallBody {
  parameters: Record<string, Json>
  files: Record<string, SentFile>
}

/** JSON or a multipart form, as Telegram takes both; in a form numbers and objects come as text. */
export async function readCall(request: IncomingMessage): Promise<CallBody> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = Buffer.concat(chunks)
  const type = request.headers['content-type'] ?? ''
  if (!type.startsWith('multipart/form-data')) return { parameters: objectOf(body.toString()), files: {} }

  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
  const call: CallBody = { parameters: {}, files: {} }
  for (const [name, value] of form.entries()) {
    if (typeof value === 'string') call.parameters[name] = texts.has(name) ? value : plainOrJson(value)
    else {
      const data = Buffer.from(await value.arrayBuffer())
      call.files[name] = { name: value.name, mediaType: value.type, data }
    }
  }
  return call
}

function objectOf(text: string): Record<string, Json> {
  const read = parseJson(text, z.record(z.string(), z.json()))
  return read.ok ? read.value : {}
}

function plainOrJson(value: string): Json {
  const read = /^(?:-?\d+|true|false|[[{].*)$/s.test(value) ? parseAnyJson(value) : undefined
  return read?.ok ? read.value : value
}
