import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { spoolFile } from './files.ts'

describe('spool file', () => {
  let directory: string
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'familiar-spool-'))
  })
  afterEach(() => rmSync(directory, { recursive: true }))

  it('SEC-18 returns the same bytes, and leaves nothing behind', async () => {
    const chunks = Array.from({ length: 300 }, (_, index) => Buffer.alloc(index * 7, index))
    const file = await spoolFile(directory, streamOf(chunks))
    const read = Buffer.concat(await Array.fromAsync(file.read()))
    expect(read.equals(Buffer.concat(chunks))).toBe(true)
    await file.close()
    await file.close()
    expect(readdirSync(directory)).toEqual([])
  })

  it('SEC-18 leaves nothing behind when the input fails, and reports why', async () => {
    const broken = async function* () {
      yield Buffer.from('half')
      throw new Error('the line broke')
    }
    await expect(spoolFile(directory, broken())).rejects.toThrow('the line broke')
    expect(readdirSync(directory)).toEqual([])
  })
})

async function* streamOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}
