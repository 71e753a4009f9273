import { expect, it } from 'vitest'
import { isUsersName } from './users-name.ts'

it.each([
  ['User name is John', 'The user is John. Always address them by name.'],
  ['User’s name', 'John'],
  ["The user's preferred name: Jo", 'Jo'],
  ['My name is John', 'x'],
  ['Name', 'The user’s name is John.'],
  ['Name: Jo', 'Call me Jo.'],
])('CLIENT-3 %j is the user’s own name', (title, content) => {
  expect(isUsersName({ title, content })).toBe(true)
})

it.each([
  ['Dog’s name', 'The dog’s name is Rex.'],
  ["User's dog's name is Rex", 'Rex'],
  ['Name', 'The dog’s name is Rex.'],
  ['User name for the router', 'admin'],
  ['Username', 'john42'],
  ['Name of the boss', 'The user says that the boss is called Ann.'],
  ['Filename', 'x'],
])('CLIENT-3 %j is not', (title, content) => {
  expect(isUsersName({ title, content })).toBe(false)
})
