import type { Forgetting } from './forgetting.ts'
import { cycleMark } from './memories.ts'

/**
 * Aliases, declared attributes, speakers, topics of tools, and marks of how far something came: some hundreds of each.
 * A mark that is a mere number says nothing of anybody.
 */
export async function forgetNames({ database, userId, mentions, words }: Forgetting): Promise<void> {
  await database.write(async (writer) => {
    const aliases = await writer.selectFrom('entity_aliases').selectAll().where('user_id', '=', userId).execute()
    for (const { alias, alias_key, entity, entity_key } of aliases) {
      if (!mentions(alias) && !mentions(entity)) continue
      await writer
        .deleteFrom('entity_aliases')
        .where('user_id', '=', userId)
        .where('alias_key', '=', alias_key)
        .where('entity_key', '=', entity_key)
        .execute()
    }
    const attributes = await writer.selectFrom('fact_attributes').selectAll().where('user_id', '=', userId).execute()
    for (const { attribute_key } of attributes) {
      if (!mentions(attribute_key)) continue
      await writer
        .deleteFrom('fact_attributes')
        .where('user_id', '=', userId)
        .where('attribute_key', '=', attribute_key)
        .execute()
    }
    const speakers = await writer.selectFrom('memory_speakers').select('name').where('user_id', '=', userId).execute()
    for (const { name } of speakers) {
      if (!mentions(name)) continue
      await writer.deleteFrom('memory_speakers').where('user_id', '=', userId).where('name', '=', name).execute()
    }
    const topics = await writer
      .selectFrom('tool_weights')
      .select('topic')
      .distinct()
      .where('user_id', '=', userId)
      .execute()
    for (const { topic } of topics) {
      if (!words.has(topic) && !mentions(topic)) continue
      await writer.deleteFrom('tool_weights').where('user_id', '=', userId).where('topic', '=', topic).execute()
    }
    const marks = await writer.selectFrom('memory_marks').selectAll().where('user_id', '=', userId).execute()
    for (const { name, value } of marks) {
      if (name === cycleMark || (!mentions(name) && (/^\d*$/.test(value) || !mentions(value)))) continue
      await writer.deleteFrom('memory_marks').where('user_id', '=', userId).where('name', '=', name).execute()
    }
  })
}
