import { isUtf8 } from 'node:buffer'
import type { Redactor } from './redactor.ts'

/** A file without secrets, where it is text. In an image or an archive they cannot be found, and it stays as it is. */
export function redactBytes(redactor: Pick<Redactor, 'redact'>, bytes: Uint8Array): Uint8Array {
  if (!isUtf8(bytes)) return bytes
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  const redacted = redactor.redact(text)
  return redacted === text ? bytes : Buffer.from(redacted)
}
