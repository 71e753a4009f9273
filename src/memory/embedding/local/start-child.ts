import { type ModelChild, type ModelChildEvents, startModelChild } from '../../../base/start-model-child.ts'
import type { FromChild, ToChild } from './child-messages.ts'

export type EmbeddingChild = ModelChild<ToChild>

export type StartChild = (folder: string, events: ModelChildEvents<FromChild>) => EmbeddingChild

/** Starts the child on the model in `folder`. */
export const startChild: StartChild = (folder, events) =>
  startModelChild({ program: new URL('./embedding-child.ts', import.meta.url), args: [folder] }, events)
