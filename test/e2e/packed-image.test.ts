import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readInstructions } from '../../src/sandbox/dockerfile.ts'

const root = join(import.meta.dirname, '../..')
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const { instructions, unfinished } = readInstructions(read('Dockerfile'))
const named = (name: string) => instructions.filter((instruction) => instruction.name === name)
const last = instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'))

describe('the Dockerfile', () => {
  it('PACK-1 is whole, begins from one pinned image, and ends as a user with few rights', () => {
    expect(unfinished).toEqual([])
    expect(named('ARG').map(({ rest }) => rest)).toEqual([
      expect.stringMatching(/^NODE_IMAGE=node:\d+\.\d+\.\d+-\w+-slim$/),
    ])
    expect(named('FROM').map(({ rest }) => rest.split(' ')[0])).toEqual(['${' + 'NODE_IMAGE}', '${' + 'NODE_IMAGE}'])
    expect(last.filter(({ name }) => name === 'USER').map(({ rest }) => rest)).toEqual(['node'])
    expect(last.filter(({ name }) => name === 'VOLUME').map(({ rest }) => rest)).toEqual(['["/data"]'])
    // After the last change of the user nothing is run that would need another one.
    expect(last.slice(last.findIndex(({ name }) => name === 'USER')).some(({ name }) => name === 'RUN')).toBe(false)
  })

  it('PACK-1 copies existing files and those of the context, and downloads nothing else', () => {
    expect(named('ADD')).toEqual([])
    const allowed = read('.dockerignore')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []))
    const sources = named('COPY')
      .filter(({ flags }) => flags.from === undefined)
      .flatMap(({ rest }) => rest.split(' ').slice(0, -1))
    expect(sources.length).toBeGreaterThan(5)
    for (const source of sources) {
      expect(existsSync(join(root, source)), source).toBe(true)
      expect(allowed, source).toContain(source)
    }
    for (const { rest } of named('RUN')) {
      expect(rest).not.toMatch(/https?:|wget |sudo|chmod 777/)
      if (rest.includes('apt-get install'))
        expect(rest).toMatch(/--no-install-recommends[\s\S]*rm -rf \/var\/lib\/apt\/lists/)
      if (rest.includes('npm install')) expect(rest).toContain('--ignore-scripts')
    }
  })

  it('PACK-1 starts without a shell in between, and its health is asked by a small script', () => {
    const words = (name: string) => JSON.parse(last.find((instruction) => instruction.name === name)?.rest ?? 'null')
    expect(words('ENTRYPOINT')).toEqual(['familiar'])
    expect(words('CMD')).toEqual(['serve'])
    expect(last.find(({ name }) => name === 'HEALTHCHECK')?.rest).toContain(
      '["node", "/opt/familiar/scripts/launcher/health.cjs"]',
    )
    expect(named('RUN').some(({ rest }) => rest.includes('bubblewrap'))).toBe(true)
  })
})

it('PACK-1 the compose file keeps the home, grants few rights, and publishes the port on this machine only', () => {
  const text = read('compose.yaml')
  expect(text).not.toMatch(/\t|privileged: true|docker\.sock|0\.0\.0\.0/)
  for (const line of ['read_only: true', 'no-new-privileges:true', 'familiar:/data', 'network_mode: host']) {
    expect(text).toContain(line)
  }
  // Two spaces for each level and no line that opens nothing.
  for (const line of text.split('\n')) expect(line).toMatch(/^( {2})*(#.*|- .+|[\w"'.-]+:( .*)?)?$/)
})
