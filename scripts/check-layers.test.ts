import { describe, expect, it } from 'vitest'
import { checkLayers } from './check-layers.ts'

const findings = (files: Record<string, string>): string[] => checkLayers(new Map(Object.entries(files))).findings

describe('checkLayers', () => {
  it('lets imports point downward and into the own folder', () => {
    const agent = `import { z } from 'zod'\nimport { open } from '../storage/open.ts'\nexport * from './turn.ts'\n`
    expect(findings({ 'src/agent/loop.ts': agent, 'src/agent/turn.ts': '', 'src/storage/open.ts': '' })).toEqual([])
  })

  it.each([
    ['a static import', `import { run } from '../agent/run.ts'`],
    ['one over several lines', `import {\n  run,\n  stop,\n} from '../agent/run.ts'`],
    ['one of a type', `import type { Run } from '../agent/run.ts'`],
    ['an export', `export { run } from '../agent/run.ts'`],
    ['a side effect', `import '../agent/run.ts'`],
    ['a dynamic import', `const run = async () => await import('../agent/run.ts')`],
  ])('finds %s that points upward', (_name, text) => {
    const upward = 'src/memory/recall.ts: imports src/agent/run.ts: agent is above memory'
    expect(findings({ 'src/memory/recall.ts': text })).toEqual([upward])
  })

  it('leaves tests, comments and strings alone', () => {
    const upward = `import { run } from '../agent/run.ts'`
    const files = { 'src/memory/a.test.ts': upward, 'src/memory/b.ts': `// ${upward}\nconst text = "${upward}"` }
    expect(findings(files)).toEqual([])
  })

  it('keeps protocol to zod', () => {
    const files = {
      'src/protocol/event.ts': `import { z } from 'zod'\nimport { join } from 'node:path'`,
      'src/base/json.ts': `import { join } from 'node:path'\nimport type { Event } from '../protocol/event.ts'`,
    }
    expect(findings(files)).toEqual(['src/protocol/event.ts: imports node:path: protocol stands alone'])
  })

  it('finds a folder without a place, and an import that leaves src', () => {
    const files = { 'src/helpers/a.ts': '', 'src/agent/a.ts': `import { fake } from '../../test/support/fake.ts'` }
    expect(findings(files)).toEqual([
      'src/helpers/a.ts: src/helpers has no place in the order of layers (scripts/check-layers.ts)',
      'src/agent/a.ts: imports test/support/fake.ts: src imports nothing from outside src',
    ])
  })

  it('lets types point both ways within a folder', () => {
    const files = {
      'src/agent/a.ts': `import { b } from './b.ts'\nexport interface A {}`,
      'src/agent/b.ts': `import type { A } from './a.ts'`,
      'src/agent/c.ts': `import { type A, type B } from './a.ts'\nimport { d } from './d.ts'`,
      'src/agent/d.ts': `import {\n  type C,\n  type D,\n} from './c.ts'`,
    }
    expect(findings(files)).toEqual([])
  })

  it('finds a cycle of files, also inside one folder', () => {
    const files = {
      'src/agent/a.ts': `import { b } from './b.ts'`,
      'src/agent/b.ts': `import { c } from './c.ts'`,
      'src/agent/c.ts': `import { b } from './b.ts'`,
    }
    expect(findings(files)).toEqual(['import cycle: src/agent/b.ts → src/agent/c.ts → src/agent/b.ts'])
  })
})
