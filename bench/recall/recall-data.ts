import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseJson } from '../../src/base/json.ts'

const docSchema = z.object({
  id: z.string(),
  /** Whose memory it is: one user each. */
  space: z.string(),
  session: z.string(),
  seq: z.number(),
  ts: z.string().default(''),
  ts_raw: z.string().default(''),
  speaker: z.string(),
  text: z.string(),
  caption: z.string().default(''),
})

const querySchema = z.object({
  qid: z.string(),
  space: z.string(),
  cat: z.string().default('all'),
  text: z.string(),
  gold: z.array(z.string()),
  gold_sessions: z.array(z.string()).default([]),
})

export type Doc = z.infer<typeof docSchema>
export type Query = z.infer<typeof querySchema>

export const readDocs = (file: string) => readLines(file, docSchema)
export const readQueries = (file: string) => readLines(file, querySchema)

function readLines<T>(file: string, schema: z.ZodType<T>): T[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (line.trim() === '') return []
      const parsed = parseJson(line, schema)
      if (!parsed.ok) throw new Error(`${file}:${index + 1}: ${parsed.message}`)
      return [parsed.value]
    })
}
