import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')

function read(name: string) {
  return JSON.parse(readFileSync(join(root, name), 'utf8'))
}

describe('installed packages', () => {
  it('is this, in exact versions, each with its line of why', () => {
    const { dependencies } = read('package.json') as { dependencies: Record<string, string> }
    const reasons = readFileSync(join(root, 'docs/dependencies.md'), 'utf8')
    for (const [name, version] of Object.entries(dependencies)) {
      expect(version, name).toMatch(/^\d+\.\d+\.\d+$/)
      expect(reasons, name).toContain(`\`${name}\``)
    }
    expect(Object.keys(dependencies).length).toBeLessThanOrEqual(43)
  })

  it('runs no script of its own during installation, and names no registry', () => {
    const { packages } = read('package-lock.json') as {
      packages: Record<string, { hasInstallScript?: boolean; dev?: boolean; resolved?: string }>
    }
    const found = Object.entries(packages).filter(([, entry]) => !entry.dev)
    expect(found.filter(([, entry]) => entry.hasInstallScript).map(([name]) => name)).toEqual([])
    expect(found.filter(([, entry]) => entry.resolved).map(([name]) => name)).toEqual([])
  })
})
