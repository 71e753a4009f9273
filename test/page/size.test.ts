import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ensurePageIsBuilt } from './support/built-page.ts'
import { weighPage } from './support/weigh-page.ts'

describe('the built page', () => {
  it('PAGE-5 the first load is under 250 KB, and the screens come later', async () => {
    await ensurePageIsBuilt()
    const { firstLoadGzipBytes, first, later } = weighPage(join(import.meta.dirname, '../../.runtime/page'))
    expect(firstLoadGzipBytes).toBeLessThan(250_000)
    expect(Object.keys(later).filter((name) => name.includes('-screen-')).length).toBeGreaterThan(5)
    // React as it is for developers is twice as large, and several times as slow.
    expect(Object.keys({ ...first, ...later }).filter((name) => name.includes('jsx-dev'))).toEqual([])
  })
})
