"""The OpenRPC document against the standard's own schema, where npm has installed that."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest

from memoryd_client.cli.main import OPENRPC
from tests.support.programs import needs
from tests.support.running import ROOT

PACKAGE = Path("@open-rpc/meta-schema")
FOLDER = ROOT / "client/vscode/node_modules"
# The standard's schema names the one of JSON Schema by an address; jsonschema has it itself.
TOOLS = "https://meta.json-schema.tools"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@needs("node")
@pytest.mark.skipif(
    not (FOLDER / PACKAGE).exists(),
    reason=f"not installed: npm install --no-save {PACKAGE} in client/vscode",
)
def test_the_document_is_valid() -> None:
    print_it = f"console.log(JSON.stringify(require('{FOLDER / PACKAGE}').openrpcDocument))"
    done = subprocess.run(["node", "-e", print_it], capture_output=True, text=True, check=True)
    text = done.stdout.replace(
        f"{TOOLS}/#/definitions/JSONSchemaObject/properties/$ref", f"{DRAFT_7}/properties/$ref"
    )
    standard = json.loads(text.replace(f'"{TOOLS}/"', f'"{DRAFT_7}"').replace(TOOLS, DRAFT_7))
    jsonschema.Draft7Validator(standard).validate(json.loads(OPENRPC.read_text("utf-8")))
