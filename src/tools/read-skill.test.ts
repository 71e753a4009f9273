import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../test/support/any-text.ts'
import { readSkill } from './skills.ts'

const read = async (text: string, folder = 'folder') => {
  const reading = await readSkill(text, { folder })
  return reading.ok ? reading.skill : reading.problem
}

describe('readSkill', () => {
  it.each([
    [
      'a plain one',
      '---\nname: pdf\ndescription: Fills forms: also signed ones.\nlicense: MIT\n---\n\n# PDF\n',
      { name: 'pdf', description: 'Fills forms: also signed ones.', license: 'MIT', instructions: '# PDF' },
    ],
    ['folded', '---\nname: a\ndescription: >-\n  One\n  two.\n---\nx', { description: 'One two.' }],
    ['literal', '---\nname: a\ndescription: |\n  One.\n  TRIGGER: two\n---\nx', { description: 'One. TRIGGER: two' }],
    [
      'double quoted',
      '---\nname: "a"\ndescription: "Say \\"hi\\": now"\n---\nx',
      { name: 'a', description: 'Say "hi": now' },
    ],
    ['single quoted', "---\nname: 'a'\ndescription: 'It''s so'\n---\nx", { description: "It's so" }],
    [
      'extra keys and JSON inside',
      '---\nname: gh\ndescription: x\nversion: 1.0.0\nallowed-tools: [Read, Bash]\nmetadata: {"openclaw":{"emoji":"🐙","always":true,"requires":{"bins":["gh"]}}}\nhermes:\n  tags: [a, b]\n---\nx',
      { name: 'gh', isAlways: false },
    ],
    ['without a name', '---\ndescription: x\n---\ny', { name: 'folder', description: 'x' }],
    ['a title as its name', '---\nname: PDF Forms\ndescription: x\n---\ny', { name: 'folder' }],
    [
      'without a description',
      '---\nname: a\n---\n# Title\n\nDoes *this*\nand that.\n',
      { description: 'Does *this* and that.' },
    ],
    [
      'without front matter',
      '# Title\n\nDoes that.',
      { name: 'folder', description: 'Does that.', instructions: '# Title\n\nDoes that.' },
    ],
    [
      'Windows line ends and a byte order mark',
      '\ufeff---\r\nname: a\r\ndescription: x\r\n---\r\ny\r\n',
      { name: 'a', description: 'x', instructions: 'y' },
    ],
    ['always on', '---\nname: a\ndescription: x\nmetadata:\n  always: true\n---\ny', { isAlways: true }],
  ])('SKILL-1 takes a public shape: %s', async (_name, text, skill) => {
    expect(await read(text)).toMatchObject(skill)
  })

  it.each([
    [
      'javascript',
      '---js\n{ name: process.exit(1) }\n---\nx',
      'SKILL.md: its front matter is written in js, not in YAML',
    ],
    [
      'javascript, spaced',
      '--- javascript\nglobalThis.wasRun = true\n---\nx',
      'SKILL.md: its front matter is written in javascript, not in YAML',
    ],
    [
      'a tag that some loaders run',
      '---\nname: !!js/function "function(){ globalThis.wasRun = true }"\n---\nx',
      'SKILL.md: line 2 has an anchor, an alias or a tag, which are not supported',
    ],
    ['no end', '---\nname: a\n', 'SKILL.md: its front matter has no end: a line of ---'],
    ['a list', '---\n- a\n---\nx', 'SKILL.md: its front matter has no fields (name, description)'],
    ['nothing at all', '', 'SKILL.md: it has no description'],
  ])('SKILL-1 refuses %s, and runs nothing', async (_name, text, problem) => {
    expect(await read(text)).toBe(problem)
    expect('wasRun' in globalThis).toBe(false)
  })

  it('SKILL-1 makes a name of a folder where it can', async () => {
    const text = '---\ndescription: x\n---\ny'
    expect(await read(text, 'My Skill (2)')).toMatchObject({ name: 'my-skill-2' })
    expect(await read(text, '日本')).toBe(
      'SKILL.md: "日本" is not a valid name: use lower-case letters, digits and "-"',
    )
  })

  it('SKILL-1 never throws, and what it takes has a name and a description of one line', async () => {
    const framed = fc.tuple(anyText, anyText).map(([yaml, body]) => `---\n${yaml}\n---\n${body}`)
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyText, framed), async (text) => {
        const reading = await readSkill(text, { folder: 'a' })
        if (!reading.ok) return
        expect(reading.skill.name).toMatch(/^[a-z0-9][a-z0-9_-]*$/)
        expect(reading.skill.description).toMatch(/^\S/)
        expect(reading.skill.description).not.toContain('\n')
        expect(reading.skill.description.length).toBeLessThanOrEqual(1_024)
      }),
      { numRuns: 1_000 },
    )
  })
})
