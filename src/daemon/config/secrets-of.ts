import type { Config } from './config.ts'

/** Of providers' keys the models tell the redactor themselves, with those that they find. */
export function secretsOf({
  token,
  memory,
  tools,
  mcp,
  telegram,
  callback,
  voice,
  database,
  shared,
  telemetry,
}: Config): string[] {
  const headers = Object.values(mcp.servers).flatMap((server) => ('url' in server ? Object.values(server.headers) : []))
  const keys = [
    token,
    memory.embedding.apiKey,
    tools.webSearch?.apiKey,
    tools.tts.apiKey,
    telegram?.token,
    callback?.secret,
    voice.transcription.apiKey,
    shared && 's3' in shared ? shared.s3.secretAccessKey : null,
    shared && 's3' in shared ? shared.s3.sessionToken : null,
    database.url === null ? null : decodeURIComponent(new URL(database.url).password) || null,
  ]
  return [...keys.filter((key) => typeof key === 'string'), ...headers, ...Object.values(telemetry.headers)]
}
