import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ensurePageIsBuilt } from './support/built-page.ts'
import { weighPage } from './support/weigh-page.ts'

describe('the built page', () => {
  it('PAGE-5 the first load is under 220 kB, and screens load on demand', async () => {
    await ensurePageIsBuilt()
    const { firstLoadGzipBytes, first, later } = weighPage(join(import.meta.dirname, '../../.runtime/page'))
    expect(firstLoadGzipBytes).toBeLessThan(220_000)
    expect(Object.keys(later).filter((name) => name.includes('-screen-')).length).toBeGreaterThan(5)
    // The development build of React is twice as large and several times slower.
    expect(Object.keys({ ...first, ...later }).filter((name) => name.includes('jsx-dev'))).toEqual([])
  })

  it('PAGE-5 has the paths of the API, but no schema and no validator', async () => {
    await ensurePageIsBuilt()
    const directory = join(import.meta.dirname, '../../.runtime/page/assets')
    const scripts = readdirSync(directory).filter((name) => name.endsWith('.js'))
    const containing = (text: string) =>
      scripts.filter((name) => readFileSync(join(directory, name), 'utf8').includes(text))
    expect(containing('GET /schedules/:id').length).toBeGreaterThan(0)
    expect(containing('ZodError')).toEqual([])
    expect(containing('_zod')).toEqual([])
  })
})
