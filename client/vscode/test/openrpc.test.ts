/** The types of the wire are those of the OpenRPC document, which the daemon's own types make. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { EVENT_KINDS, RESULTS, type Shape } from "../src/wire";

const DOCUMENT = resolve(__dirname, "../../../memoryd_client/openrpc.json");

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

test("every field that is read is in the protocol's document, with its type", (context) => {
  if (!existsSync(DOCUMENT)) {
    context.skip("there is no client/memoryd_client/openrpc.json here");
    return;
  }
  const document = JSON.parse(readFileSync(DOCUMENT, "utf8"));
  const schemas: Record<string, Schema> = document.components.schemas;
  const methods: { name: string; result: { schema: Schema } }[] = document.methods;
  const wrong = Object.entries<Shape>(RESULTS).flatMap(([name, shape]) =>
    differences(shape, methods.find((one) => one.name === name)?.result.schema, name, schemas),
  );
  assert.deepEqual(wrong, []);
  const kinds = JSON.stringify(document["x-events"]);
  assert.deepEqual(EVENT_KINDS.filter((kind) => !kinds.includes(`"${kind}"`)), []);
});

function differences(shape: Shape, given: Schema | undefined, at: string, known: Record<string, Schema>): string[] {
  const schema = given?.$ref ? known[given.$ref.split("/").at(-1) ?? ""] : given;
  if (!schema) {
    return [`${at}: not in the document`];
  }
  if (typeof shape === "string") {
    return typesIn(schema).every((type) => type === shape) ? [] : [`${at}: ${JSON.stringify(schema)}`];
  }
  if (Array.isArray(shape)) {
    return differences(shape[0], schema.items, `${at}[]`, known);
  }
  if ("nullable" in shape && shape.nullable) {
    const inner = schema.anyOf?.find((one) => one.type !== "null");
    return differences(shape.nullable, inner, at, known);
  }
  return Object.entries(shape).flatMap(([name, inner]) =>
    differences(inner as Shape, schema.properties?.[name], `${at}.${name}`, known),
  );
}

/** A schema's types, in the words of a shape. */
function typesIn(schema: Schema): string[] {
  const words: Record<string, string> = { string: "text", number: "number", integer: "number", boolean: "flag" };
  if (schema.enum) {
    return schema.enum.map((value) => words[typeof value] ?? "other");
  }
  return schema.anyOf ? schema.anyOf.flatMap(typesIn) : [words[schema.type ?? ""] ?? "other"];
}
