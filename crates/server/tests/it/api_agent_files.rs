//! Agents of Markdown files over the API: changed in their file, by the etag of what was read.

use std::{fs, path::PathBuf};

use rooftree_protocol::AccessScope;
use rooftree_runtime::{
    Definitions,
    definitions::{DefinitionLibrary, ProjectTrust, SearchDirs},
};
use rooftree_testkit::TestRuntimeBuilder;
use serde_json::{Value, json};

use crate::{agent_server::JSON, api_scene::ApiScene, callback_server::Said};

const MASON: &str = "---\ndescription: Builds walls\ntools: [Read]\n---\nYou build walls.\n";

struct Workshop {
    api: ApiScene,
    file: PathBuf,
    _directory: tempfile::TempDir,
}

impl Workshop {
    async fn open() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let user = directory.path().join("user");
        let file = user.join("agents/mason.md");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, MASON).unwrap();
        let mut plan = TestRuntimeBuilder::new([]);
        let runtime = TestRuntimeBuilder::new([]).build();
        let places = SearchDirs::around(&directory.path().join("project"), Some(user), None);
        let library = DefinitionLibrary {
            places: places.trusted(ProjectTrust::Given),
            ..DefinitionLibrary::default()
        };
        plan.definitions = Definitions::reading(library, runtime.clock.clone());
        Self {
            api: ApiScene::start(plan).await,
            file,
            _directory: directory,
        }
    }

    /// Its etag, as it is read now.
    async fn etag(&self) -> String {
        let shown = self.api.told(200, "GET /agents/mason", None).await;
        assert_eq!(shown["editable"], true, "{shown}");
        shown["etag"].as_str().unwrap().to_owned()
    }

    async fn put(&self, etag: &str, text: &str) -> Said {
        let admin = self.api.token(AccessScope::Admin);
        let (body, etag) = (
            json!({ "text": text }).to_string(),
            format!("If-Match: {etag}"),
        );
        let headers = [JSON, etag.as_str()];
        self.api
            .send(admin, "PUT /agents/mason", &headers, body.as_bytes())
            .await
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }
}

#[tokio::test]
async fn a_file_is_changed_only_as_it_was_read() {
    let workshop = Workshop::open().await;
    let first = workshop.etag().await;
    let better = MASON.replace("Builds walls", "Builds better walls");
    let changed = workshop.put(&first, &better).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_eq!(workshop.text(), better);
    let second = changed.header("etag").to_owned();
    assert_ne!(second, first);
    assert_eq!(workshop.etag().await, second);
    let late = workshop.put(&first, MASON).await;
    assert_eq!(late.status, 412, "{late:?}");
    assert_eq!(workshop.text(), better, "nothing is lost");
    // A user changes the file in an editor.
    let edited = MASON.replace("Builds walls", "Paints walls");
    fs::write(&workshop.file, &edited).unwrap();
    let over = workshop.put(&second, MASON).await;
    assert_eq!(over.status, 412, "{over:?}");
    assert_eq!(workshop.text(), edited);
    let audit = workshop.api.told(200, "GET /audit", None).await;
    let rows = audit["entries"].as_array().unwrap();
    let writes = |row: &&Value| row["action"] == "agent.write";
    assert_eq!(
        rows.iter().filter(writes).count(),
        2,
        "before and after: {audit}"
    );
}

#[tokio::test]
async fn a_text_that_is_no_definition_leaves_the_file_alone() {
    let workshop = Workshop::open().await;
    let etag = workshop.etag().await;
    let refused = workshop.put(&etag, "---\ntools: [Read\n---\n").await;
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!(refused.json()["pointer"], "/text");
    assert_eq!(workshop.text(), MASON);
}
