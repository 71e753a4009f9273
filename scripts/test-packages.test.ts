import { expect, it } from 'vitest'
import { planPackages } from './test-packages.ts'

const machine = {
  packages: [
    { name: 'there', purpose: 'tests of one thing' },
    { name: 'missing', purpose: 'tests of another' },
  ],
  installed: new Set(['there']),
  isDebian: true,
  isRoot: true,
}

it('installs what is missing as root on Debian', () => {
  expect(planPackages(machine)).toEqual({ install: ['missing'], say: [] })
})

it('says what is skipped and why otherwise', () => {
  expect(planPackages({ ...machine, isRoot: false })).toEqual({
    install: [],
    say: [
      'Skipped without missing: tests of another (only root may install packages).',
      'To run them: sudo apt-get install missing',
    ],
  })
  expect(planPackages({ ...machine, isDebian: false }).say).toEqual([
    'Skipped without missing: tests of another (packages are installed on Debian only).',
  ])
})

it('is silent when nothing is missing', () => {
  const installed = new Set(['there', 'missing'])
  expect(planPackages({ ...machine, installed, isDebian: false })).toEqual({ install: [], say: [] })
})
