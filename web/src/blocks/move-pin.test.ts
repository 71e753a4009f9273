import { expect, it } from 'vitest'
import { movePin } from './move-pin.ts'

it('PAGE-6 a pin that is moved takes its place, and the others close up', () => {
  const pin = (label: string, position: number) => ({
    label,
    position,
    tokens: 1,
    trust: 'owner' as const,
    pinned_at: '',
  })
  const pinned = { pins: [pin('a', 1), pin('b', 2), pin('c', 3)], tokens: 3, budget: 9 }
  const order = (label: string, position: number) =>
    movePin(pinned, label, position).pins.map((one) => `${one.position}${one.label}`)
  expect(order('c', 1)).toEqual(['1c', '2a', '3b'])
  expect(order('a', 3)).toEqual(['1b', '2c', '3a'])
  expect(order('x', 1)).toEqual(['1a', '2b', '3c'])
})
